#pragma once
// What two 64-bit amounts multiply to.

namespace gpuctl {

__extension__ typedef __int128 Wide;  // as `using`, g++ warns that ISO C++ has none

}  // namespace gpuctl
