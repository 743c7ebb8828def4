package driver

// MemoryStore keeps deltas in the memory of a process, as memcounter.New returns it.
type MemoryStore interface {
	Store
	// Lose removes all deltas, like a flush of Redis. Use it in tests.
	Lose()
}

// MemoryLog holds the change rows of one counter in memory, as memcounter.NewLog returns it.
type MemoryLog interface {
	Source
	Trimmer
	// Append adds changes, which are committed at once.
	Append(changes ...Change) error
}
