package walk

const nonblock = 0 // there are no named pipes in folders
