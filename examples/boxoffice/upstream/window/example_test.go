package window_test

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/window"
)

func ExampleWorst() {
	calls := []time.Duration{0, 400 * time.Millisecond, 900 * time.Millisecond, time.Second, 1300 * time.Millisecond}
	w := window.Worst(calls, time.Second)
	fmt.Printf("%d calls in the second that ends at %v\n", w.Calls, w.End)
	fmt.Println("calls that came too soon at a limit of 3:", window.Above(calls, time.Second, 3))
	// Output:
	// 4 calls in the second that ends at 1.3s
	// calls that came too soon at a limit of 3: 1
}

func ExampleNewCounter() {
	c := window.NewCounter(time.Second)
	for _, at := range []time.Duration{0, 300 * time.Millisecond, 1100 * time.Millisecond} {
		fmt.Println(c.Add(at))
	}
	// Output:
	// 1
	// 2
	// 2
}
