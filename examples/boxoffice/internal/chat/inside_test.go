package chat

// Open reports whether sockets are accepted.
func (c *Chat) Open() bool {
	c.Sockets.feeds.mu.Lock()
	defer c.Sockets.feeds.mu.Unlock()
	return c.Sockets.feeds.takes
}
