// Package window counts calls in sliding windows of time, exactly.
//
// A window ends at an instant x and holds the calls at the times in
// (x−width, x]: two calls that are exactly one width apart share no window.
// Of all windows a fullest one always ends at a call, because moving the end
// of a window back to the last call in it loses none and can gain some. So
// looking at one window per call looks at every window.
//
// Times are durations since any common start. [Counter] judges calls as they
// come; [Worst] and [Above] judge a recorded log.
//
//	property                                           proven by
//	Worst is the fullest of all windows                TestWorstIsTheFullestWindow
//	Above counts the calls at which a window is over   TestAboveCountsOverfullWindows
//	Counter agrees with both at every call             TestCounterAgreesWithTheLog
//	the edge is half open                              TestEdge
package window
