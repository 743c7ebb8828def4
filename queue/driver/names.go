package driver

// Bounds of names, in bytes.
const (
	MaxEvent = 128
	MaxUser  = 256
)
