A[] forall (i : id_t) forall (j : id_t) Train(i).crossing && Train(j).crossing imply i == j
