package web

// MaxHits is how many results a search returns at most.
const MaxHits = 20

// SearchVariables are the environment variables that configure a search engine. The first
// one that is set counts.
var SearchVariables = []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SEARXNG_URL"}
