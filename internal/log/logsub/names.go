package logsub

import (
	"crypto/rand"
	"fmt"
	"os"
	"sync"
)

// maxHolder leaves room for a member's number in a column of 255 bytes.
const maxHolder = 200

// names gives the process's members names that no other process has. They count up per group and
// topic, from 1, so that a process with a fixed name that subscribes as it did before a crash
// has the same members as before.
type names struct {
	process string

	mu    sync.Mutex
	taken map[Member]struct{}
}

func newNames(process string) *names {
	if process == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		process = fmt.Sprintf("%.40s-%d-%.8s", host, os.Getpid(), rand.Text())
	}
	return &names{process: process, taken: make(map[Member]struct{})}
}

func (n *names) take(topic, group string) Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := 1; ; i++ {
		m := Member{Topic: topic, Group: group, ID: fmt.Sprintf("%s-%d", n.process, i)}
		if _, taken := n.taken[m]; !taken {
			n.taken[m] = struct{}{}
			return m
		}
	}
}

// give makes the name available again, once the member has ended.
func (n *names) give(m Member) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.taken, m)
}

// any reports whether the process has a member of any group.
func (n *names) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.taken) > 0
}
