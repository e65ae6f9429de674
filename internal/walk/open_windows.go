package walk

const nonblock = 0 // Windows has no named pipes in folders
