package memcoalesce

// Len counts the keys that take memory.
func (s *Store) Len() int {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return len(s.memory.keys)
}
