package memqueue

// Rooms is how many rooms are kept.
func Rooms(s *Store) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.rooms)
}
