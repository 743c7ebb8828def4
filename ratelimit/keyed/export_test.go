package keyed

// Keys are how many keys the process keeps.
func (l *Limiter) Keys() int {
	l.alone.mu.Lock()
	defer l.alone.mu.Unlock()
	return len(l.alone.times)
}
