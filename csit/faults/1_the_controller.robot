*** Settings ***
Documentation       Faults of the controller's process, memory, clock and disk, under 1,000 packets a second, none of which may be lost: no switch is touched. What was
...                 acknowledged is there afterwards, what was refused is not, and switches hold what follows. COEUS_SEED=N repeats what was drawn.
...                 What is elsewhere: docs/faults.md.
Resource            ../resources/coeus.resource
Library             ../libraries/Faults.py
Library             ../libraries/Restarts.py
Library             ../libraries/Storm.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab On Small Disk

*** Test Cases ***
Killed At Twenty Points Of Transactions
    Start Probes    blue:p1    10.11.2.10    60000
    Start Storm    1    20    100
    Kill At Random Points    20    1.0
    Stop Storm
    Nothing Was Lost
    Tables Should Be As From Scratch

No More Memory
    [Documentation]    The kernel kills it. What it acknowledged is there, and it is started again.
    Start Probes    blue:p1    10.11.2.10    15000
    Limit Memory    24
    ${done}    ${status}    ${said}=    Write Until Refused    0    3000    20000
    Should Be Equal As Integers    ${status}    0
    ${code}=    Controller Should End    20
    Should Be Equal As Integers    ${code}    -9
    Start Controller
    Written Should Be There    0    ${done}
    Nothing Was Lost
    Take Written Away    0    ${done + 1}
    And It Works

A Clock That Is An Hour Ahead, And Then An Hour Behind
    Start Probes    blue:p1    10.11.2.10    30000
    FOR    ${off}    IN    3600    -3600
        Set Clock    ${off}
        Controller Time Should Be    ${off}
        And It Works
        Stop Controller
        Start Controller
        And It Works
    END
    Set Clock    0
    Nothing Was Lost
    Tables Should Be As From Scratch

A Full Disk
    [Documentation]    Writes are refused with a reason, reads go on; with room there again it writes without a restart.
    Start Probes    blue:p1    10.11.2.10    30000
    Fill Disk
    ${done}    ${status}    ${said}=    Write Until Refused    5000    2000    20000
    Should Be Equal As Integers    ${status}    500
    Should Contain    ${{str($said)}}    No space left
    Written Should Be There    5000    ${done}
    Written Should Not Be There    ${5000 + ${done}}
    ${status}    ${said}=    Write Pod    4999
    Ping Should Pass    blue:p2    10.11.2.10
    Free Disk
    And It Works
    Stop Controller    KILL
    Start Controller
    Written Should Be There    5000    ${done}
    Written Should Not Be There    ${5000 + ${done}}
    Take Written Away    4999    ${done + 2}
    Nothing Was Lost
    Tables Should Be As From Scratch
    [Teardown]    Free Disk

A Disk That Fails To Sync
    [Documentation]    What could not be made durable is refused, and does not come back.
    Start Probes    blue:p1    10.11.2.10    25000
    FOR    ${call}    ${error}    IN    fdatasync    EIO    pwrite64    EIO
        Break Disk    ${call}    ${error}
        ${status}    ${said}=    Write Pod    7000
        Should Be Equal As Integers    ${status}    500    ${said}
        Written Should Not Be There    7000
        Mend Disk
        ${status}    ${said}=    Write Pod    7001
        Should Be True    ${status} in (200, 201)    ${said}
        Stop Controller    KILL
        Start Controller
        Written Should Not Be There    7000
        Written Should Be There    7001    1
    END
    Nothing Was Lost
    Take Written Away    7000    2
    And It Works
    [Teardown]    Mend Disk

A Torn End Of The Journal
    [Documentation]    The last write is lost, as it had not been acknowledged, and all before it is there.
    Start Probes    blue:p1    10.11.2.10    25000
    FOR    ${round}    IN RANGE    3
        FOR    ${number}    IN RANGE    8000    8010
            ${status}    ${said}=    Write Pod    ${number}
        END
        Stop Controller    KILL
        Tear Journal
        Start Controller
        Written Should Be There    8000    9
        Take Written Away    8000    10
    END
    Nothing Was Lost
    And It Works
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With Pods
    Start Lab On Small Disk    2    96
    Open Session
    Say Seed
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    Make Ports For Storm    1    20
    All Pods Should Reach All    blue
    Plug Pod    new    blue    1    10.11.1.50/24    10.11.1.1
    Wait For Switches

Nothing Was Lost
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${lost}    0

And It Works
    [Documentation]    A pod comes, is reached, and goes. Its port is there all the time: vswitchd, which forwards in the thread that takes up ports, is not tried here.
    Open Session
    Create Pod    new    blue    1    10.11.1.50
    Ping Should Pass    blue:new    10.11.2.10
    Delete Pod    new    blue
