"""Prediction of any number of Parquet files, shard by shard, by any number of processes."""
