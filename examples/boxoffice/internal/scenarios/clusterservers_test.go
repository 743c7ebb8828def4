package scenarios

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scriptsOnServers runs a crowd on an office whose Redis is a Cluster of its own: the
// scripts of the waiting room, the streams, the counts, the limiter and the coalescer
// run on all nodes, and none is refused because it touches keys of two slots.
func scriptsOnServers(t *testing.T) {
	c := startCluster(t)
	m := openMirror(t, 20*time.Millisecond, officePlan{redis: func(testing.TB) string { return c.url() }})
	v := m.visit(24, 14, m.apis()...)
	for i := range 50 {
		m.must(id(i + 1))
	}
	v.some(30)
	v.leave()
	m.done()
	m.kept()
	scripts := 0
	for _, node := range c.nodes {
		client := openRedis(t, node.URL())
		said, err := client.Info(t.Context(), "everything").Result()
		require.NoError(t, err)
		if strings.Contains(said, "errorstat_CROSSSLOT") {
			t.Errorf("%s refused keys of two slots:\n%s", node.Address, said[strings.Index(said, "# Errorstats"):])
		}
		cached, _, _ := strings.Cut(after(said, "number_of_cached_scripts:"), "\r")
		if cached == "" || cached == "0" || !strings.Contains(said, "cmdstat_evalsha") {
			t.Errorf("%s ran no script", node.Address)
		}
		scripts = max(scripts, number(t, cached))
	}
	measured(t, "a crowd on a Cluster of its own: scripts on each of %d nodes, %d different ones on one of them, none refused", len(c.nodes), scripts)
}

func after(text, prefix string) string { _, rest, _ := strings.Cut(text, prefix); return rest }

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	check(t, "read a number", err)
	return n
}
