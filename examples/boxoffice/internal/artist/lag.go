package artist

import "github.com/millrace-go/millrace/bus"

// Lag returns a monitor's lag of a group, for Config.HighLag and
// PrefetchConfig.LowLag. A nil monitor knows no lag.
func Lag(m *bus.LagMonitor, topic, group string) func() (messages int64, known bool) {
	return func() (int64, bool) {
		if m == nil {
			return 0, false
		}
		lag, known := m.Of(topic, group)
		return int64(lag.Messages), known
	}
}
