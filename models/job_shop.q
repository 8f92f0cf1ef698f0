E<> forall (i : id_t) Job(i).done
