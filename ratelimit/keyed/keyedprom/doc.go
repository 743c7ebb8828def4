// Package keyedprom exports the counts of a limiter of package keyed to Prometheus.
//
//	collector, err := keyedprom.New(limiter, keyedprom.Config{})
//	…
//	registry.MustRegister(collector)
//
//	series                                       meaning
//	millrace_keyed_limiter_calls_total{result}   calls of all keys; result is allowed or refused
//	millrace_keyed_limiter_alone_total           those that this process decided without the shared store:
//	                                             while it rises, each process allows a key its whole limit
//
// Every series exists from the start, at 0, and no key is a label (TestCounts). Each process
// counts for itself; add the counts up.
package keyedprom
