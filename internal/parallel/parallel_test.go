package parallel_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/parallel"
)

// All calls are under way at once, and no error is lost.
func TestEach(t *testing.T) {
	odd, third := errors.New("odd"), errors.New("third")
	errs := []error{odd, nil, third}
	var all sync.WaitGroup
	all.Add(len(errs))
	err := parallel.Each(errs, func(err error) error {
		all.Done()
		all.Wait()
		return err
	})
	require.ErrorIs(t, err, odd)
	require.ErrorIs(t, err, third)
	require.EqualError(t, err, "odd\nthird")
	require.NoError(t, parallel.Each(nil, func(error) error { return odd }))
}
