package limitproof_test

import (
	"context"
	"fmt"
	"os"

	"github.com/millrace-go/millrace/proof/limitproof"
)

func ExampleMain() {
	code := limitproof.Main(context.Background(), []string{"--acts", "luck"}, os.Stdout, os.Stdout)
	fmt.Println(code)
	// Output:
	// limit-proof: --acts: "luck" is unknown: use steady, low, reserve, gc, restart, flush, stop, clock, broken, or all
	// 2
}
