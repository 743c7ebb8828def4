package screen_test

import (
	"fmt"
	"os"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

func ExampleNew() {
	s := screen.New(os.Stdout, true) // plain lines, also on a terminal
	if s.Live() {
		s.Draw([]string{screen.Bar(0.5, 10)})
	}
	s.Print("%s 50 of 100\n", screen.Bar(0.5, 10))
	fmt.Print(screen.Table([]string{"step", "count"}, [][]string{{"hold", "50"}}))
	// Output:
	// [#####.....] 50 of 100
	//   step  count
	//   hold     50
}
