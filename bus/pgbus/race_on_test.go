//go:build race

package pgbus_test

const raceDetector = true
