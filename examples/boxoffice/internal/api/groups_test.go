package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// groups records its calls, and refuses by the name of the topic.
type groups struct{ told *[]string }

func (g groups) Groups(context.Context) (any, error) { return g.hear("all", "list") }

func (g groups) ResetGroup(_ context.Context, topic, group string, r ops.Reset) (any, error) {
	return g.hear(topic, "reset %s latest=%v since=%s dry=%v", group, r.Latest, r.Since.Format(time.RFC3339), r.DryRun)
}

func (g groups) hear(topic, format string, args ...any) (any, error) {
	if g.told != nil {
		*g.told = append(*g.told, topic+" "+fmt.Sprintf(format, args...))
	}
	err := map[string]error{
		"none": ops.ErrNoGroup, "live": fmt.Errorf("ops: %w", bus.ErrGroupLive), "queue": fmt.Errorf("ops: %w", errors.ErrUnsupported),
	}[topic]
	return map[string]string{"topic": topic}, err
}

// TestGroups checks that each route passes on the values of the request.
func TestGroups(t *testing.T) {
	var told []string
	o := newOffice(t, func(c *api.Config) { c.Operator = operator{groups: groups{&told}} })
	for _, c := range []struct {
		call
		asks string
	}{
		{call{method: "GET", path: "/api/admin/groups"}, "all list"},
		{call{method: "POST", path: "/api/admin/groups/payment.events/a%2Fb/reset", body: `{"to":"earliest","dryRun":true}`}, "payment.events reset a/b latest=false since=0001-01-01T00:00:00Z dry=true"},
		{call{method: "POST", path: "/api/admin/groups/t/g/reset", body: `{"to":"latest"}`}, "t reset g latest=true since=0001-01-01T00:00:00Z dry=false"},
		{call{method: "POST", path: "/api/admin/groups/t/g/reset", body: `{"since":"2026-03-01T19:00:00Z"}`}, "t reset g latest=false since=2026-03-01T19:00:00Z dry=false"},
	} {
		told = nil
		c.token = adminToken
		if r := o.do(c.call); r.status != 200 || !slices.Equal(told, []string{c.asks}) {
			t.Errorf("%s %s: %d %s asked %q, want %q", c.method, c.path, r.status, r.text, told, c.asks)
		}
	}
}

func TestGroupErrors(t *testing.T) {
	var told []string
	o := newOffice(t, func(c *api.Config) { c.Operator = operator{groups: groups{&told}} })
	for name, c := range map[string]struct {
		topic, body string
		status      int
		typ, holds  string
	}{
		"no such group":    {"none", `{"to":"earliest"}`, 404, "group-not-found", "GET /api/admin/groups"},
		"members":          {"live", `{"to":"earliest"}`, 409, "group-live", "stop the group's consumers"},
		"a queue":          {"queue", `{"to":"earliest"}`, 409, "groups-unsupported", "cannot"},
		"nowhere":          {"t", `{}`, 400, "invalid-request", `"field":"to"`},
		"two places":       {"t", `{"to":"latest","since":"2026-03-01T19:00:00Z"}`, 400, "invalid-request", `"field":"to"`},
		"an odd place":     {"t", `{"to":"oldest"}`, 400, "invalid-request", "earliest or latest"},
		"an odd time":      {"t", `{"since":"noon"}`, 400, "invalid-request", "is no time"},
		"an unknown field": {"t", `{"from":"earliest"}`, 400, "invalid-request", `"field":"from"`},
	} {
		told = nil
		r := o.do(call{method: "POST", path: "/api/admin/groups/" + c.topic + "/g/reset", body: c.body, token: adminToken})
		if r.status != c.status || r.body["type"] != "/problems/"+c.typ || !strings.Contains(r.text, c.holds) {
			t.Errorf("%s: %d %s\nwant %d %s with %q", name, r.status, r.text, c.status, c.typ, c.holds)
		}
		if c.status == 400 && len(told) > 0 {
			t.Errorf("%s: it was asked %v all the same", name, told)
		}
	}
}
