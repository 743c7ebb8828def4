package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

func ExampleNew_hub() {
	store, broker := memsse.New()
	hub, err := sse.New(store, broker, sse.Config{})
	if err != nil {
		panic(err)
	}
	collector, err := metrics.New(hub)
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(families), families[0].GetName())
	// Output: 17 millrace_sse_ended_total
}
