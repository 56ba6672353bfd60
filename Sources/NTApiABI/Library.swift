import NTApi
