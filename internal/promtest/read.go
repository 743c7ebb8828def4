// Package promtest reads the metrics of collectors.
package promtest

import (
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Read returns each series with its value; the value of a histogram is its number of
// observations. A series is named "name value value", by the values of its labels in the order
// of their names, without the labels that all series must have.
func Read(t testing.TB, all prometheus.Labels, collectors ...prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name, had := []string{family.GetName()}, prometheus.Labels{}
			for _, l := range m.GetLabel() {
				if _, is := all[l.GetName()]; is {
					had[l.GetName()] = l.GetValue()
				} else {
					name = append(name, l.GetValue())
				}
			}
			if !maps.Equal(had, all) {
				t.Errorf("%v: the labels are %v, want %v", name, had, all)
			}
			got[strings.Join(name, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}
