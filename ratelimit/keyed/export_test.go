package keyed

// Keys are how many keys the process keeps.
func (l *Limiter) Keys() int {
	l.alone.mu.Lock()
	defer l.alone.mu.Unlock()
	return len(l.alone.times)
}

// Longest is the length of the longest key that the process keeps.
func (l *Limiter) Longest() (n int) {
	for _, m := range []*memory{l.alone, l.denied} {
		m.mu.Lock()
		for key := range m.times {
			n = max(n, len(key))
		}
		m.mu.Unlock()
	}
	return n
}
