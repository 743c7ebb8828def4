package limitproof

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// full is a configuration that needs no Redis.
func full(t *testing.T) config {
	t.Helper()
	return config{seconds: 10, workers: 10, hard: 500, rate: 450, low: 350, lead: time.Second, acts: everyAct()}
}

// held is an outcome of an act without a fault.
func held(t *testing.T, c config, key string) outcome {
	t.Helper()
	a := actOf(t, key)
	plan, err := a.limits(c).Plan()
	require.NoError(t, err)
	o := outcome{act: a, plan: plan, measured: span{time.Second, 11 * time.Second}, end: 11 * time.Second}
	o.figures = figures{calls: 3, high: 100, low: 350, arrived: 490, sent: 489, low1: 380, lowLong: 3510, sentAt: []time.Duration{2 * time.Second, 3 * time.Second, 7 * time.Second, 10500 * ms}}
	o.done = done{Written: 3, FirstHigh: 6 * time.Second}
	for at := o.done.FirstHigh + 20*ms; at < o.end; at += 9 * ms {
		o.figures.highArrived = append(o.figures.highArrived, at)
	}
	return o
}

func TestJudge(t *testing.T) {
	c := full(t)
	const violated, missed, stalled = "violated", "missed", "stalled"
	for _, tc := range []struct {
		act, name string
		change    func(o *outcome)
		want      string // "" for nothing
		says      string
	}{
		{"steady", "good", func(*outcome) {}, "", ""},
		{"low", "good", func(o *outcome) { o.figures.high = 0 }, "", "at most 3510 calls within 10s, or 351.0/s; the arithmetic allows 3541"},
		{"reserve", "good", func(*outcome) {}, "", "never behind its 100/s"},
		{"steady", "the limit by sending", func(o *outcome) { o.figures.sent = 500 }, "", ""},
		{"steady", "one more by sending", func(o *outcome) { o.figures.sent, o.figures.arrived = 501, 501 }, violated, "501 calls were sent"},
		{"steady", "one more by arrival", func(o *outcome) { o.figures.arrived = 501 }, stalled, ""},
		{"low", "low in a second", func(o *outcome) { o.figures.low1 = 391 }, "", ""},
		{"low", "low in a second and one more", func(o *outcome) { o.figures.low1 = 392 }, violated, "the arithmetic allows 391"},
		{"low", "low in ten seconds", func(o *outcome) { o.figures.lowLong = 3541 }, "", ""},
		{"low", "low in ten seconds and one more", func(o *outcome) { o.figures.lowLong = 3542 }, violated, "within 10s"},
		{"clock", "low after a step", func(o *outcome) { o.figures.low1, o.happened.forward = 389, 2 }, "", ""}, // 2·11 + 357 + 10
		{"clock", "low after a step and one more", func(o *outcome) { o.figures.low1, o.happened.forward = 390, 2 }, violated, "the arithmetic allows 389"},
		{"stop", "no call after a stop", func(o *outcome) { o.figures.sentAt = o.figures.sentAt[:3] }, missed, "last second"},
		{"flush", "no call at all", func(o *outcome) { o.figures, o.done = figures{}, done{} }, missed, "last second"},
		{"steady", "little use", func(o *outcome) { o.figures.low = 340 }, missed, "97.8 % of the rate"},
		{"gc", "little use is no matter", func(o *outcome) { o.figures.low = 40 }, "", ""},
		{"reserve", "high begins late", func(o *outcome) { o.figures.highArrived = o.figures.highArrived[20:] }, missed, "high had its reserve after"},
		{"reserve", "high never asked", func(o *outcome) { o.done.FirstHigh = 0 }, missed, "high had its reserve after"},
		{"steady", "calls are lost", func(o *outcome) { o.done.Written = 4 }, missed, "wrote 4 calls, and the upstream saw 3"},
		{"restart", "back again", func(o *outcome) { o.happened.away = []span{{4 * time.Second, 5 * time.Second}} }, "", "0 calls meanwhile; the next 2s after"},
		{"restart", "never back", func(o *outcome) {
			o.happened.away, o.figures.sentAt = []span{{7100 * ms, 8 * time.Second}}, o.figures.sentAt[:3]
		}, missed, "after Redis was back"},
		{"restart", "not back between", func(o *outcome) {
			o.happened.away = []span{{3500 * ms, 4 * time.Second}, {5 * time.Second, 6 * time.Second}}
		}, missed, "after Redis was back"},
		{"restart", "calls without Redis", func(o *outcome) {
			o.happened.away = []span{{3 * time.Second, 4 * time.Second}}
			o.figures.sentAt = append(slices.Repeat([]time.Duration{3020 * ms}, 11), 4100*ms)
		}, violated, "11 calls were sent while Redis was away"},
		{"restart", "permits that still held", func(o *outcome) {
			o.happened.away = []span{{3 * time.Second, 4 * time.Second}}
			o.figures.sentAt = append(slices.Repeat([]time.Duration{3019 * ms}, 11), 4100*ms, 10500*ms)
		}, "", "0 calls meanwhile"},
		{"broken", "noticed", func(o *outcome) { o.figures.sent, o.figures.above = 899, 399 }, "", "399 calls too many"},
		{"broken", "not noticed", func(o *outcome) { o.figures.sent = 500 }, missed, "was not noticed"},
	} {
		t.Run(tc.act+"/"+tc.name, func(t *testing.T) {
			o := held(t, c, tc.act)
			tc.change(&o)
			v := decide(c, o)
			got := ""
			switch {
			case len(v.violations) > 0:
				got = violated
			case len(v.missed) > 0:
				got = missed
			case v.stalled:
				got = stalled
			}
			if text := strings.Join(slices.Concat(v.violations, v.missed, v.notes), "\n"); got != tc.want || !strings.Contains(text, tc.says) {
				t.Errorf("%q, want %q; it says %s", got, tc.want, text)
			}
			assert.Equal(t, (tc.want == ""), v.ok(), "ok is")
		})
	}
}

func TestBrokenIsRefused(t *testing.T) {
	c := full(t)
	v := decide(c, held(t, c, "broken"))
	if len(v.notes) == 0 || !strings.Contains(v.notes[0], "cannot hold HardLimit") || !strings.Contains(v.notes[0], "> HardLimit 500") {
		t.Errorf("the refusal is not shown: %q", v.notes)
	}
}
