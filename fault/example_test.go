package fault_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/fault"
)

func ExampleMarkPermanent() {
	err := fmt.Errorf("book seat A1: %w", fault.MarkPermanent(errors.New("no such seat")))
	fmt.Println(err)
	fmt.Println(fault.Of(err))
	// Output:
	// book seat A1: no such seat
	// permanent
}

func ExampleMarkTransient() {
	fmt.Println(fault.Of(fault.MarkTransient(errors.New("the gateway answers 503"))))
	// Output: transient
}

func ExampleMarkInfrastructure() {
	fmt.Println(fault.Of(fault.MarkInfrastructure(errors.New("redis: connection refused"))))
	// Output: infrastructure
}

func ExampleMarkBusy() {
	err := fmt.Errorf("charge: %w", fault.MarkBusy(errors.New("pod 7 charges this order"), 20*time.Second))
	fmt.Println(fault.Of(err), fault.Wait(err))
	// Output: busy 20s
}

func ExampleOf() {
	errBusy := errors.New("database is locked")
	driver := func(err error) fault.Class {
		if errors.Is(err, errBusy) {
			return fault.Infrastructure
		}
		return fault.Unclassified
	}
	fmt.Println(fault.Of(fmt.Errorf("save: %w", errBusy), driver))
	fmt.Println(fault.Of(errors.New("never seen before"), driver))
	// Output:
	// infrastructure
	// transient
}
