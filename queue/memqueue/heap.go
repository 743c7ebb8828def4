package memqueue

// timed is a user whose time comes.
type timed interface {
	when() int64
	moved(index int) // in the heap
}

// byTime is a heap of users, by their times.
type byTime[T timed] []T

func (h byTime[T]) Len() int           { return len(h) }
func (h byTime[T]) Less(i, j int) bool { return h[i].when() < h[j].when() }
func (h byTime[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].moved(i)
	h[j].moved(j)
}

func (h *byTime[T]) Push(x any) {
	one := x.(T)
	one.moved(len(*h))
	*h = append(*h, one)
}

func (h *byTime[T]) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	clear((*h)[last:])
	*h = (*h)[:last]
	return one
}
