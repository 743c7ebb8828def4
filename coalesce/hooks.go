package coalesce

// Hooks report the work of a [Coalescer], for metrics, logs and tests. Each may be nil. They
// are called synchronously, possibly several at once; they must be quick and must not panic.
type Hooks struct {
	// Decided is called with the answer to each request.
	Decided func(d Decision)
	// Conflict is called when a ticket was to be released, ended or extended and did not hold
	// its lock any more: the lock had expired, was upgraded, or had been ended before.
	Conflict func(t Ticket)
	// Refused is called for each call that failed because the store is unavailable.
	Refused func(key string, err error)
	// Breaker is called when the circuit breaker changes its state: "closed",
	// "half-open" or "open". It must not call the coalescer.
	Breaker func(from, to string)
}

func (h Hooks) withDefaults() Hooks {
	if h.Decided == nil {
		h.Decided = func(Decision) {}
	}
	if h.Conflict == nil {
		h.Conflict = func(Ticket) {}
	}
	if h.Refused == nil {
		h.Refused = func(string, error) {}
	}
	if h.Breaker == nil {
		h.Breaker = func(string, string) {}
	}
	return h
}
