package boottime_test

import (
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

func ExampleNow() {
	sent := boottime.Now() // goes into a header
	arrived := boottime.Now()
	fmt.Println(arrived >= sent)
	// Output: true
}
