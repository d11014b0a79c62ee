"""tutti for PyTorch: three ways to reduce gradients and tensors over all ranks.

    dist.init_process_group("tutti")                 # a backend of torch.distributed
    hook = tutti.torch.ddp_hook(ddp)                 # DistributedDataParallel on any backend
    sync = tutti.torch.attach(model, optimizer)      # without torch.distributed
"""

from .attach import Attached, attach
from .backend import Options
from .backend import register as _register
from .errors import DistError
from .hook import Hook, ddp_hook

_register()

__all__ = ["Attached", "DistError", "Hook", "Options", "attach", "ddp_hook"]
