//go:build !unix

package sse

const leanWorks = false

func (c *leanConn) writeNow([]byte) (int, error) { panic("sse: no lean mode here") }

func (c *leanConn) alive() bool { return false }
