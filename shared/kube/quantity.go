package kube

import quantities "k8s.io/apimachinery/pkg/api/resource"

// Quantity returns the value of a quantity such as 1500Mi, rounded up to a whole number.
func Quantity(text string) (int64, error) {
	q, err := quantities.ParseQuantity(text)
	if err != nil {
		return 0, err
	}
	return q.Value(), nil
}
