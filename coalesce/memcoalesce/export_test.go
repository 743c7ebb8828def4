package memcoalesce

import "github.com/millrace-go/millrace/coalesce/driver"

// Len counts the keys that take memory.
func Len(of driver.MemoryStore) int {
	s := of.(*store)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}
