package kube

import quantities "k8s.io/apimachinery/pkg/api/resource"

// Quantity returns the value of a quantity such as 1500Mi, rounded up to a whole number; 0 if it is
// invalid, negative or too large.
func Quantity(text string) int64 {
	q, err := quantities.ParseQuantity(text)
	if n := q.Value(); err == nil && n >= 0 && n < 1<<62 {
		return n
	}
	return 0
}
