package draw_test

import (
	"fmt"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/draw"
)

func ExamplePublished_Verify() {
	p, leaves := published(1000) // read from files that the operator published
	placeOf, err := p.Verify(leaves)
	if err != nil {
		panic(err)
	}
	var receipt draw.Leaf = draws.LeafOf(key, "user-7") // of one person, by draw.ParseLeaf
	fmt.Println(placeOf(receipt), "of", len(leaves))
	// Output: 102 of 1000
}
