package dynamogate

import "time"

// Clocked makes the store take the time from now instead of DynamoDB's answers.
func Clocked(s *Store, now func() time.Time) { s.clock.fixed = now }

// Blur is how far apart the clocks of two processes may be.
const Blur = blur
