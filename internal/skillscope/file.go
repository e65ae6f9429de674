package skillscope

// FileName is the file that makes a folder a skill.
const FileName = "SKILL.md"
