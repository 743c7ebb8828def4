package report

import "fmt"

// Interleave measures all in each round, one after the other, so that a disturbance of
// the machine affects all of them alike; each begins a round in its turn. With its result
// measure returns what is printed of it.
func Interleave[K comparable, R any](out *Recorder, rounds int, all []K, measure func(round int, one K) (result R, said string, err error)) (map[K][]R, error) {
	results := map[K][]R{}
	for round := 1; round <= rounds; round++ {
		out.Round(round, rounds)
		for i := range all {
			one := all[(i+round-1)%len(all)]
			result, said, err := measure(round, one)
			if err != nil {
				return nil, fmt.Errorf("round %d: %v: %w", round, one, err)
			}
			results[one] = append(results[one], result)
			fmt.Fprintf(out, "round %d  %s\n", round, said)
		}
	}
	return results, nil
}
