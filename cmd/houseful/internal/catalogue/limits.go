package catalogue

// Limits of a file and of loading it.
const (
	// FileBytesMax is the largest file that is read.
	FileBytesMax = 256 << 20
	// ProblemsMax is how many complaints are collected before giving up.
	ProblemsMax = 20
	// WorkersMax is how many objects of a kind are written at once. The server commits what arrives together with one
	// fsync, so a few at once load several times as fast.
	WorkersMax = 16
)
