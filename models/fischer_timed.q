A[] forall (i : pid_t) forall (j : pid_t) P(i).critical && P(j).critical imply i == j
