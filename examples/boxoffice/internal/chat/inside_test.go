package chat

// Open reports whether sockets are accepted.
func (c *Chat) Open() bool {
	c.feeds.mu.Lock()
	defer c.feeds.mu.Unlock()
	return c.feeds.takes
}
