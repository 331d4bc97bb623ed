"""What any retrieval pipeline can promise, and the checks that hold it to that; standard library only."""
