package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

func ExampleNew_hub() {
	store, err := memsse.NewCap(memsse.Config{})
	if err != nil {
		panic(err)
	}
	broker, err := memsse.NewBroker()
	if err != nil {
		panic(err)
	}
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
