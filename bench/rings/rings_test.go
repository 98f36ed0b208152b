package rings

import "testing"

// TestQueues hands records over by each kind of queue, through rings that are full and empty all the time, on
// two processors and on one.
func TestQueues(t *testing.T) {
	for _, q := range Queues() {
		for _, s := range []Size{{32 << 10, 4 << 10}, {1 << 20, 64 << 10}} {
			for _, consumer := range []int{0, 1} {
				if _, _, _, err := q.Measure(s, 300_000, 1, 0, consumer); err != nil {
					t.Errorf("%v, consumer on processor %d: %v", s, consumer, err)
				}
			}
		}
	}
}
