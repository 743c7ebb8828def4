package logsub

import "sync"

// Lanes numbers the partitions of the topics that this process uses, for a [Directory] whose
// server knows topics and partitions by their names only. The numbers are the process's own. The
// zero Lanes is empty; it is safe for concurrent use.
type Lanes struct {
	mu     sync.Mutex
	topics map[string]Topic
	all    []Partition
}

// Partition is the partition N of a topic that has Of partitions.
type Partition struct {
	Topic string
	N, Of int
}

// Number returns the topic with its lanes.
func (l *Lanes) Number(t Topic) Topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.FirstLane = len(l.all)
	// With another number of partitions than before, the topic was deleted, and created again.
	if known, ok := l.topics[t.Name]; ok && known.Partitions == t.Partitions {
		t.FirstLane = known.FirstLane
	} else {
		for n := range t.Partitions {
			l.all = append(l.all, Partition{t.Name, n, t.Partitions})
		}
	}
	if l.topics == nil {
		l.topics = make(map[string]Topic)
	}
	l.topics[t.Name] = t
	return t
}

// Topic returns a topic that was numbered.
func (l *Lanes) Topic(name string) (t Topic, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok = l.topics[name]
	return t, ok
}

// Partition returns the partition of a lane.
func (l *Lanes) Partition(lane int) Partition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[lane]
}

// Wake wakes the readers of the n-th partition of a topic in this process, if there are any.
func (l *Lanes) Wake(hub *Hub, topic string, n int) {
	if t, ok := l.Topic(topic); ok && n >= 0 && n < t.Partitions {
		hub.Wake(t.FirstLane + n)
	}
}
