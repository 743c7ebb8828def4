package draw_test

import (
	"fmt"

	"github.com/millrace-go/millrace/queue/draw"
)

func ExamplePublished_Verify() {
	p, leaves := published(1000) // read from files that the operator published
	order, err := p.Verify(leaves)
	if err != nil {
		panic(err)
	}
	place, there := order.Place(draw.LeafOf(key, "user-7")) // the receipt of one person
	fmt.Println(place, "of", order.Len(), there)
	// Output: 102 of 1000 true
}
