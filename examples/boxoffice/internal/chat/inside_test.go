package chat

// Open says whether sockets are taken.
func (c *Chat) Open() bool {
	c.feeds.mu.Lock()
	defer c.feeds.mu.Unlock()
	return c.feeds.takes
}
