package driver

// MemoryCap is the cap of one process, in memory, as memsse.New returns it.
type MemoryCap interface {
	Cap
	// Members is the number of members with an entry, or with a remembered token.
	Members() int
}
