package driver

import "io"

// MemoryStore keeps the lines in the memory of a process, as memqueue.New returns it.
type MemoryStore interface {
	Store
	Drawer
	Recorder
	// Save writes all rooms and their figures, for Restore. Each room is saved as it is at one
	// moment between its calls. A room waits for a copy of its memory, some ten
	// milliseconds for a million users, and not for w.
	Save(w io.Writer) error
	// Restore takes over the rooms and figures that Save wrote, into a store without rooms.
	// With an error the store is as it was.
	//
	// The rooms keep their epochs, so that tickets and entry tokens stay valid. The time
	// since they were saved does not count: all users have as much time left as they had
	// then. Rooms that were saved longer than [Lapse] ago keep what operators have
	// set, and their users are out, as after a Clear.
	Restore(r io.Reader) error
}
